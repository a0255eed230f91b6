/** The serial number by which an operator names the only host that can enroll as a node. Some sites require it. */
import { TextInput, type TextInputProps } from '@mantine/core';
import { useRead } from '../../api/read.ts';

const ONLY = 'Only the host with this serial number can enroll.';
const WHERE = 'It is on the label of the host; on the host: dmidecode -s system-serial-number.';
const REQUIRED = 'This site requires it.';
const OPTIONAL = 'If empty, the first host that uses the token is bound to the node.';

/** Whether this site creates a token only for a named host; undefined until it is known. */
export const useIsHostRequired = (): boolean | undefined => useRead('adminSetupGet', {}).data?.requires_named_host;

export const serialProblem = (serial: string, isRequired: boolean | undefined): string | null =>
  isRequired === true && serial.trim() === '' ? 'Enter the serial number of the host.' : null;

export const hostNamed = (serial: string): { host?: { product_serial: string } } =>
  serial.trim() === '' ? {} : { host: { product_serial: serial.trim() } };

export const SerialNumber = ({
  isRequired,
  ifEmpty = OPTIONAL,
  ...input
}: TextInputProps & Readonly<{ isRequired: boolean | undefined; ifEmpty?: string }>) => (
  <TextInput
    label="Serial number"
    description={[ONLY, WHERE, ...(isRequired === undefined ? [] : [isRequired ? REQUIRED : ifEmpty])].join(' ')}
    autoComplete="off"
    spellCheck={false}
    {...input}
  />
);
