import { EmptyState, Page } from '../ui/page.tsx';

/** A page that the user may not open. Shows the required role and who can grant it. */
export const NoPermissionPage = ({ reason, ask }: Readonly<{ reason: string; ask: string }>) => (
  <Page title="Permission required">
    <EmptyState title={reason}>{ask}</EmptyState>
  </Page>
);
