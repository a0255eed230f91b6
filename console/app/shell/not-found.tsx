/** Page or resource not found, or no access: the API does not distinguish the two. */
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
