/** No such page, or nothing that one may see: the API does not tell the two apart, so neither does this. */
import { Button, Group } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { EmptyState, Page } from '../ui/page.tsx';

export const NotFoundPage = () => (
  <Page title="Not found">
    <EmptyState
      title="There is nothing at this address"
      action={
        <Group>
          <Button renderRoot={(props) => <Link to="/" {...props} />}>Go to the start</Button>
        </Group>
      }
    >
      It may have been deleted, belong to somebody else, or be misspelt. If you have an id, paste it into the search
      above.
    </EmptyState>
  </Page>
);
