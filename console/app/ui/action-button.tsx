/** A button that gives the reason when it is disabled. It stays focusable, so that screen readers announce the reason. */
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

/** The refusal of one of a resource's `actions`, or null. An action that is not listed does not exist for the resource. */
export const whyNot = (actions: readonly Action[], name: string): string | null => {
  const action = actions.find((one) => one.name === name);
  if (action === undefined) return 'Not available for this resource.';
  return action.allowed ? null : (action.reason ?? 'Not possible in the current state.');
};
