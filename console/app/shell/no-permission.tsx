import { EmptyState, Page } from '../ui/page.tsx';

/** A page that exists and is not for this person. Says which role it is for and who can give it. */
export const NoPermissionPage = ({ reason, ask }: Readonly<{ reason: string; ask: string }>) => (
  <Page title="Permission required">
    <EmptyState title={reason}>{ask}</EmptyState>
  </Page>
);
