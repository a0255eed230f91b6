import { Page } from '../../ui/page.tsx';

export const OrganizationPage = () => <Page title="Organization">{null}</Page>;
