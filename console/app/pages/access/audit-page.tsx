import { Page } from '../../ui/page.tsx';

export const OrganizationAuditPage = () => <Page title="Audit">{null}</Page>;
export const PlatformAuditPage = () => <Page title="Audit">{null}</Page>;
