import { Page } from '../../ui/page.tsx';

export const LaunchPage = () => <Page title="Launch">{null}</Page>;
