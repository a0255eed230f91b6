/** User data is counted in bytes, as cloud-init and the host count it; the contract can count characters only. */
import { AppError } from '../errors.ts';

const BYTES_MAX = 65_536;

export const assertUserData = (text: string | null | undefined): void => {
  if (text == null) return;
  const message = !text.isWellFormed()
    ? 'is not text'
    : Buffer.byteLength(text) > BYTES_MAX
      ? `is larger than ${BYTES_MAX} bytes`
      : null;
  if (message !== null)
    throw new AppError('invalid_request', `Invalid request: user_data ${message}.`, {
      errors: [{ pointer: '/body/user_data', code: 'not_allowed', message }],
    });
};
