/** Hands the browser a file that was made in the page. */
export const download = (name: string, type: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has the content by then; the address is only a name for it.
  setTimeout(() => URL.revokeObjectURL(url), 1_000);
};
