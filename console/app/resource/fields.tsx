/** The fields of a declared form, each as the kind of its value asks. */
import { Checkbox, Group, Select, Switch, Textarea, TextInput } from '@mantine/core';
import './resource.css';
import { type Choice, type Field, fieldProblem, shownFields, type Values } from './form.ts';
import { type FieldValue, itemsOf, NONE } from './input.ts';

type Shown = Readonly<{
  field: Field;
  values: Values;
  isFirst: boolean;
  isTouched: boolean;
  onChange(value: FieldValue): void;
}>;

const NO_CHOICES = (): readonly Choice[] => [];
const wordOf = (value: string): string => value.replaceAll('_', ' ');

const FieldInput = ({ field, values, isFirst, isTouched, onChange }: Shown) => {
  const { name, label, input, placeholder, useChoices = NO_CHOICES } = field;
  const found = useChoices();
  const value = values[name] ?? '';
  const text = String(value);
  const said = field.description === undefined ? input.description : field.description;
  const description = typeof said === 'function' ? said(values) : said;
  const problem = isTouched ? fieldProblem(field, values) : null;
  const options = (input.item ?? input).options;
  const choices =
    options === undefined
      ? found
      : options.map((one) => ({ value: one, label: field.optionLabels?.[one] ?? wordOf(one) }));
  const isChosen = options !== undefined || field.useChoices !== undefined;
  const look = {
    label,
    ...(description === null || description === undefined ? {} : { description }),
    ...(placeholder === undefined ? {} : { placeholder }),
    ...(problem === null ? {} : { error: problem }),
    ...(isFirst ? { 'data-autofocus': true } : {}),
  };
  if (input.kind === 'boolean')
    return <Switch {...look} checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />;
  if (input.kind === 'list' && isChosen)
    return (
      <Checkbox.Group {...look} value={[...itemsOf(value)]} onChange={onChange}>
        <Group gap="md" mt={6}>
          {choices.map((one) => (
            <Checkbox key={one.value} value={one.value} label={one.label} />
          ))}
        </Group>
      </Checkbox.Group>
    );
  if (isChosen)
    return (
      <Select
        {...look}
        data={choices}
        value={text === '' ? null : text}
        searchable={choices.length > 8}
        allowDeselect={false}
        clearable={options === undefined && !input.isRequired && !field.isNeeded}
        onChange={(next) => onChange(next ?? '')}
      />
    );
  if (input.kind === 'integer')
    return (
      <div>
        <TextInput
          {...look}
          inputMode="numeric"
          autoComplete="off"
          value={text === NONE ? '' : text}
          disabled={text === NONE}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
        {input.isNullable && (
          <Checkbox
            mt={6}
            label={field.noneLabel ?? 'No limit'}
            checked={text === NONE}
            onChange={(event) => onChange(event.currentTarget.checked ? NONE : '')}
          />
        )}
      </div>
    );
  if (field.isLong)
    return (
      <Textarea
        {...look}
        autosize
        minRows={2}
        maxRows={8}
        value={text}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  return (
    <TextInput
      {...look}
      type={input.kind === 'time' ? 'datetime-local' : 'text'}
      autoComplete="off"
      spellCheck={false}
      value={text}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
};

/** An error shows once a field was changed; the reason for the disabled button shows before. */
export const Fields = ({
  fields,
  values,
  before,
  onChange,
}: Readonly<{
  fields: readonly Field[];
  values: Values;
  before: Values;
  onChange(name: string, value: FieldValue): void;
}>) => {
  const shown = shownFields(fields, values);
  return (
    <div className="fields">
      {shown.map((field, index) => (
        <div key={field.name} {...(field.isShort ? { 'data-short': true } : {})}>
          <FieldInput
            field={field}
            values={values}
            isFirst={index === 0}
            isTouched={values[field.name] !== before[field.name]}
            onChange={(value) => onChange(field.name, value)}
          />
        </div>
      ))}
    </div>
  );
};
