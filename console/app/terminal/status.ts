/** The notice above the terminal and the status line below it. All of it is inserted as text, never as HTML. */

export type Status = Readonly<{
  element: HTMLElement;
  notice: HTMLElement;
  button: HTMLButtonElement;
  /** A transient message, such as "connecting". */
  say(text: string): void;
  /** The session has ended, with the reason; the button offers to start again. */
  over(text: string): void;
  session(facts: Readonly<{ is_writable: boolean; is_recorded: boolean; notice: string | null }>): void;
}>;

const RECORDED = 'This session is recorded.';

export const createStatus = (document: Document, onReconnect: () => void): Status => {
  const make = <K extends keyof HTMLElementTagNameMap>(tag: K, name: string): HTMLElementTagNameMap[K] => {
    const made = document.createElement(tag);
    made.className = `gpuaas-terminal-${name}`;
    return made;
  };
  const notice = make('div', 'notice');
  notice.setAttribute('role', 'note');
  notice.hidden = true;
  const element = make('div', 'status');
  const text = make('span', 'text');
  text.setAttribute('role', 'status');
  const marks = make('span', 'marks');
  const button = make('button', 'reconnect');
  button.type = 'button';
  button.textContent = 'Reconnect';
  button.hidden = true;
  button.addEventListener('click', onReconnect);
  element.append(text, marks, button);

  const mark = (words: string): HTMLElement => {
    const made = make('span', 'mark');
    made.textContent = words;
    return made;
  };
  return {
    element,
    notice,
    button,
    say: (words) => {
      text.textContent = words;
      button.hidden = true;
      element.dataset['state'] = 'open';
    },
    over: (words) => {
      text.textContent = words;
      button.hidden = false;
      element.dataset['state'] = 'over';
    },
    session: ({ is_writable: isWritable, is_recorded: isRecorded, notice: words }) => {
      const all = [isWritable ? [] : [mark('Read-only')], isRecorded ? [mark('Recorded')] : []];
      marks.replaceChildren(...all.flat());
      notice.textContent = words ?? (isRecorded ? RECORDED : '');
      notice.hidden = notice.textContent === '';
    },
  };
};
