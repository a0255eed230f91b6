import { Button, Stack, Title } from '@mantine/core';
import { useBackend } from '../api/backend.tsx';

export const SignedOutPage = () => {
  const { signInUrl } = useBackend();
  // Whoever left must not be let in again without being asked who they are, because the issuer may remember them.
  const again = `${signInUrl('/')}&prompt=login`;
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
