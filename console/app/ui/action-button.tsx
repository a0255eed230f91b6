/**
 * A button that says why it cannot be pressed. It stays focusable and is announced, because a button that is simply dead
 * leaves people guessing.
 */
import { Button, type ButtonProps, Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';

export type ActionButtonProps = Omit<ButtonProps, 'disabled'> &
  Readonly<{
    children: ReactNode;
    disabledReason?: string | null | undefined;
    onClick?: () => void;
    type?: 'button' | 'submit';
    'aria-label'?: string;
  }>;

export const ActionButton = ({ disabledReason, onClick, type = 'button', children, ...rest }: ActionButtonProps) => {
  const isDisabled = disabledReason !== null && disabledReason !== undefined;
  const button = (
    <Button
      {...rest}
      type={type}
      aria-disabled={isDisabled}
      {...(isDisabled ? { 'data-disabled': true, 'aria-description': disabledReason } : {})}
      onClick={(event) => {
        if (isDisabled) event.preventDefault();
        else onClick?.();
      }}
    >
      {children}
    </Button>
  );
  return isDisabled ? <Tooltip label={disabledReason}>{button}</Tooltip> : button;
};

type Action = Readonly<{ name: string; allowed: boolean; reason: string | null }>;

/** What a resource's `actions` say about one of them. An action it does not name is not offered for this kind of thing. */
export const whyNot = (actions: readonly Action[], name: string): string | null => {
  const action = actions.find((one) => one.name === name);
  if (action === undefined) return 'This is not offered here.';
  return action.allowed ? null : (action.reason ?? 'This cannot be done now.');
};
