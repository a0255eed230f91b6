/** Changes a node: with a recorded reason, or at once if it is easily undone. */
import type { ApiResponse, CallId } from '@gpuaas/sdk';
import type { ButtonProps } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { RequestOf, ResponseOf } from '../../api/call.ts';
import { useChange } from '../../api/change.ts';
import { ActionButton } from '../../ui/action-button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { ErrorPanel } from '../../ui/error-panel.tsx';

type Look = Readonly<{
  label: string;
  disabledReason: string | null;
  size?: ButtonProps['size'];
  variant?: ButtonProps['variant'];
}>;

const looks = ({ size = 'sm', variant = 'default' }: Look) => ({ size, variant });

/** The dialog behind the button states the effect, asks for a reason, and shows the equivalent command. */
export const ReasonAction = <K extends CallId>(
  props: Look &
    Readonly<{
      operation: K;
      request: (reason: string) => RequestOf<K>;
      ifMatch?: number;
      title: string;
      children: ReactNode;
      confirmLabel?: string;
      asksReason?: boolean;
      /** What a field of the children still lacks. */
      missing?: string | null;
      /** Before the dialog opens, which starts empty. */
      onOpen?: () => void;
      isDestructive?: boolean;
      typeToConfirm?: string;
      command: (reason: string) => string;
      onDone?: (answer: ApiResponse<ResponseOf<K>>) => void;
    }>,
) => {
  const [isOpen, setOpen] = useState(false);
  const change = useChange(props.operation);
  const confirm = async (reason: string): Promise<boolean> => {
    const answer = await change.run(
      props.request(reason),
      props.ifMatch === undefined ? {} : { ifMatch: props.ifMatch },
    );
    if (answer === null) return false;
    props.onDone?.(answer);
    return true;
  };
  return (
    <>
      <ActionButton
        {...looks(props)}
        {...(props.isDestructive ? { color: 'red' } : {})}
        disabledReason={props.disabledReason}
        onClick={() => {
          change.reset();
          props.onOpen?.();
          setOpen(true);
        }}
      >
        {props.label}
      </ActionButton>
      <ConfirmDialog
        title={props.title}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        confirmLabel={props.confirmLabel ?? props.label}
        isDestructive={props.isDestructive ?? false}
        typeToConfirm={props.typeToConfirm}
        asksReason={props.asksReason ?? true}
        missing={props.missing}
        isRunning={change.isRunning}
        error={change.error}
        command={props.command}
        onConfirm={confirm}
      >
        {props.children}
      </ConfirmDialog>
    </>
  );
};

/** One press; an error is shown below it. */
export const DirectAction = <K extends CallId>(
  props: Look & Readonly<{ operation: K; request: RequestOf<K>; onDone?: () => void; 'aria-label'?: string }>,
) => {
  const change = useChange(props.operation);
  return (
    <>
      <ActionButton
        {...looks(props)}
        disabledReason={props.disabledReason}
        loading={change.isRunning}
        {...(props['aria-label'] === undefined ? {} : { 'aria-label': props['aria-label'] })}
        onClick={() => void change.run(props.request).then((answer) => answer !== null && props.onDone?.())}
      >
        {props.label}
      </ActionButton>
      {change.error !== null && (
        <div style={{ flexBasis: '100%' }}>
          <ErrorPanel error={change.error} />
        </div>
      )}
    </>
  );
};
