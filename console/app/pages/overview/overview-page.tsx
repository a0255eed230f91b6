import { Page } from '../../ui/page.tsx';

export const OverviewPage = () => <Page title="Overview">{null}</Page>;
