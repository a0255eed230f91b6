import { useMe } from '../../api/me.tsx';

/** A person of a list: the name, whether it is oneself, and how to tell them from others of that name. */
export const Person = ({ user_id, name, email }: Readonly<{ user_id: string; name: string; email: string | null }>) => (
  <div style={{ overflowWrap: 'anywhere', minWidth: 100 }}>
    {name}
    {useMe().id === user_id && ' (you)'}
    <div className="muted">{email ?? user_id}</div>
  </div>
);
