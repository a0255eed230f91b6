/** A user whose sign-up no operator has approved: the state of the request, and nothing else. */
import type { Me } from '@gpuaas/sdk';
import { Button, Stack, Title } from '@mantine/core';
import { useBackend } from '../api/backend.tsx';
import { NOT_SIGNED_OUT, useSignOut } from '../api/sign-out.ts';
import { Facts } from '../ui/page.tsx';
import { Ago } from '../ui/time.tsx';

export const PendingPage = ({ me }: Readonly<{ me: Me }>) => {
  const { signInUrl } = useBackend();
  const { hasFailed, leave } = useSignOut();
  const request = me.sign_up_request;
  const isRejected = request?.state === 'rejected';
  return (
    <main className="text">
      <Stack gap="sm" maw={560} mx="auto" mt="12vh" px="md">
        <Title order={1}>{isRejected ? 'Sign-up rejected' : 'Waiting for approval'}</Title>
        <div>
          {isRejected
            ? 'An operator rejected your sign-up. Ask the operators if this is a mistake.'
            : 'You are signed in. An operator must approve your account before you can use it. This page changes when that happens.'}
        </div>
        <Facts
          facts={[
            ['Account', me.email ?? me.name],
            ...(request === null ? [] : ([['Requested', <Ago key="requested" at={request.created_at} />]] as const)),
            ...(request?.reason ? ([['Reason', request.reason]] as const) : []),
            ...(request === null ? [] : ([['Request', <code key="id">{request.id}</code>]] as const)),
          ]}
        />
        <div>
          <Button variant="default" onClick={leave}>
            Sign out
          </Button>{' '}
          <Button variant="subtle" component="a" href={signInUrl('/', 'prompt')}>
            Use another account
          </Button>
        </div>
        {hasFailed && <div role="alert">{NOT_SIGNED_OUT}</div>}
      </Stack>
    </main>
  );
};
