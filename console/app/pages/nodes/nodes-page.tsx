import { Page } from '../../ui/page.tsx';

export const NodesPage = () => <Page title="Nodes">{null}</Page>;
