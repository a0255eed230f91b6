/** Saves text generated in the page as a file. */
const REVOKE_AFTER_MS = 1_000;

export const download = (name: string, text: string, type = 'application/json'): void => {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // Some browsers read the URL only after the click was handled.
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_AFTER_MS);
};
