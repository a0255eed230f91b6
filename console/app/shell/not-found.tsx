/** No such page, or nothing that one may see: the API does not tell the two apart, so neither does this. */
import { Button, Group } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { EmptyState, Page } from '../ui/page.tsx';

export const NotFoundPage = () => (
  <Page title="Not found">
    <EmptyState
      title="Page not found"
      action={
        <Group>
          <Button renderRoot={(props) => <Link to="/" {...props} />}>Go to home page</Button>
        </Group>
      }
    >
      The resource may be deleted, or you may not have access. If you have an ID, paste it into the search.
    </EmptyState>
  </Page>
);
