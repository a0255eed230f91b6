/** A declared form in a dialog. */
import type { ApiResponse, CallId } from '@gpuaas/sdk';
import { TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { RequestOf } from '../api/call.ts';
import { useChange } from '../api/change.ts';
import { command } from '../format/shell.ts';
import { DialogForm, FormDialog } from '../ui/form-dialog.tsx';
import type { Secret } from '../ui/secret-view.tsx';
import { Fields } from './fields.tsx';
import { bodyOf, commandFlags, type Form, initialValues, missingOf, type Values } from './form.ts';

type BodyProps<Row> = Readonly<{
  form: Form<Row>;
  row: Row;
  /** What a new resource is like. */
  from?: unknown;
  /** Above the fields; may fill them. */
  top?: ((fill: (values: Values) => void) => ReactNode) | undefined;
  onDone(answer: ApiResponse<unknown>): void;
  onCancel(): void;
}>;

const ResourceForm = <Row,>({ form, row, from, top, onDone, onCancel }: BodyProps<Row>) => {
  const { fields, send, typed, isEdit = false } = form;
  const change = useChange(send.operation);
  const [before] = useState(() => initialValues(fields, from ?? (isEdit ? row : (form.starts?.(row) ?? null))));
  const [values, setValues] = useState(before);
  const [confirmed, setConfirmed] = useState('');
  const body = bodyOf(fields, values, isEdit ? before : null);
  const word = typed?.(row);
  const missing =
    missingOf(form, row, values, body) ??
    (word === undefined || confirmed === word ? null : `Type ${word} to confirm.`);
  const submit = async () => {
    const request = send.request(body, row) as RequestOf<CallId>;
    const answer = await change.run(request, send.version === undefined ? {} : { ifMatch: send.version(row) });
    if (answer !== null) onDone(answer);
  };
  return (
    <DialogForm
      submitLabel={form.submit ?? form.label}
      isDestructive={form.isDestructive ?? false}
      missing={missing}
      isRunning={change.isRunning}
      error={change.error}
      command={command(form.words(row, body), commandFlags(fields, body))}
      onSubmit={submit}
      onCancel={onCancel}
    >
      {form.note !== undefined && <div>{form.note(row)}</div>}
      {top?.((filled) => setValues({ ...values, ...filled }))}
      <Fields
        fields={fields}
        values={values}
        before={before}
        onChange={(name, value) => setValues({ ...values, [name]: value })}
      />
      {word !== undefined && (
        <TextInput
          label={`Type ${word} to confirm`}
          autoComplete="off"
          spellCheck={false}
          value={confirmed}
          onChange={(event) => setConfirmed(event.currentTarget.value)}
        />
      )}
    </DialogForm>
  );
};

export type Asked<Row> = Readonly<{ form: Form<Row>; row: Row; from?: unknown }>;

/** The asked form, or nothing. A secret in the response is shown before the dialog closes. */
export const ResourceDialog = <Row,>({
  asked,
  top,
  onClose,
}: Readonly<{ asked: Asked<Row> | null; top?: BodyProps<Row>['top']; onClose(): void }>) => {
  const [secret, setSecret] = useState<Secret | null>(null);
  const close = () => {
    setSecret(null);
    onClose();
  };
  const title = asked === null ? '' : asked.form.title;
  return (
    <FormDialog
      title={typeof title === 'string' || asked === null ? String(title) : title(asked.row)}
      isOpen={asked !== null}
      secret={secret}
      onClose={close}
    >
      {asked !== null && (
        <ResourceForm
          form={asked.form}
          row={asked.row}
          {...(asked.from === undefined ? {} : { from: asked.from })}
          top={top}
          onCancel={close}
          onDone={({ data }) => {
            const found = asked.form.send.secret?.(data) ?? null;
            if (found === null) close();
            else setSecret(found);
          }}
        />
      )}
    </FormDialog>
  );
};
