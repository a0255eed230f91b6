/**
 * Some changes of operators need a sign-in of the last minutes. When one is refused for that reason, on any page, this
 * dialog states it and leads to the sign-in and back. The refused change did not run, so the operator repeats it.
 */

import { GpuaasError } from '@gpuaas/sdk';
import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useBackend } from '../api/backend.tsx';

const useRefusal = (): readonly [GpuaasError | null, () => void] => {
  const queries = useQueryClient();
  const [refusal, setRefusal] = useState<GpuaasError | null>(null);
  useEffect(
    () =>
      queries.getMutationCache().subscribe((event) => {
        if (event.type !== 'updated' || event.action.type !== 'error') return;
        const { error } = event.action;
        if (error instanceof GpuaasError && error.code === 'fresh_sign_in_required') setRefusal(error);
      }),
    [queries],
  );
  return [refusal, () => setRefusal(null)];
};

export const FreshSignIn = () => {
  const { signInUrl } = useBackend();
  const [refusal, close] = useRefusal();
  const here = globalThis.location.pathname + globalThis.location.search;
  return (
    <Modal opened={refusal !== null} onClose={close} title={<Text fw={600}>Fresh sign-in required</Text>}>
      <Stack gap="sm">
        <p style={{ margin: 0 }}>{refusal?.detail}</p>
        <p style={{ margin: 0 }}>
          Nothing was changed. After the sign-in you return to this page. Then repeat the change.
        </p>
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button component="a" href={signInUrl(here, 'fresh')} data-autofocus>
            Sign in again
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
};
