import { Button, Stack, Title } from '@mantine/core';
import { useBackend } from '../api/backend.tsx';

export const SignedOutPage = () => {
  const { signInUrl } = useBackend();
  // After signing out the user must be asked to sign in again, because the issuer may still have a session.
  const again = signInUrl('/', 'prompt');
  return (
    <main>
      <Stack align="center" mt="20vh" gap="sm" px="md">
        <Title order={1}>Signed out</Title>
        <span className="muted">Your allocations keep running and are charged until released.</span>
        <Button component="a" href={again}>
          Sign in
        </Button>
      </Stack>
    </main>
  );
};
