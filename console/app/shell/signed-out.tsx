import { Button, Stack, Title } from '@mantine/core';
import { useBackend } from '../api/backend.tsx';

export const SignedOutPage = () => {
  const { signInUrl } = useBackend();
  return (
    <main>
      <Stack align="center" mt="20vh" gap="sm" px="md">
        <Title order={1}>You are signed out</Title>
        <span className="muted">What runs keeps running, and is charged until it is released.</span>
        <Button component="a" href={signInUrl('/')}>
          Sign in
        </Button>
      </Stack>
    </main>
  );
};
