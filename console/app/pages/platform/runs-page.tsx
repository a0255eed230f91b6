import { Page } from '../../ui/page.tsx';

export const RunsPage = () => <Page title="Runs">{null}</Page>;
