import { useMe } from '../../api/me.tsx';

/** A person in a list: name, a mark for the signed-in user, and email or ID. */
export const Person = ({ user_id, name, email }: Readonly<{ user_id: string; name: string; email: string | null }>) => (
  <div style={{ overflowWrap: 'anywhere', minWidth: 100 }}>
    {name}
    {useMe().id === user_id && ' (you)'}
    <div className="muted">{email ?? user_id}</div>
  </div>
);
