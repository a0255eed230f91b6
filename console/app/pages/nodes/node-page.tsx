import { Page } from '../../ui/page.tsx';

export const NodePage = () => <Page title="Node">{null}</Page>;
