/**
 * Lets xterm work under a Content-Security-Policy that allows no inline styles. xterm writes colors and sizes into
 * `<style>` elements and `style` attributes, which such a policy blocks; here the same text goes into constructed style
 * sheets and the CSSOM, which it allows.
 */

import type { Terminal } from '@xterm/xterm';

export type StyleHost = Readonly<{
  /** Replaces the document for elements created while the terminal exists. */
  document: Document;
  /**
   * Opens it: one part of xterm uses the page's document while it opens, and another keeps it, whatever document was
   * passed.
   */
  open(terminal: Terminal, screen: HTMLElement): void;
  remove(): void;
}>;

/** The location of the row factory in the pinned version; a test fails if another version moves it. */
type Inner = Readonly<{
  _core?: { _renderService?: { _renderer?: { value?: { _rowFactory?: { _document: Document } } } } };
}>;
type Make = (tag: string, options?: ElementCreationOptions) => HTMLElement;

export const hostStyles = (element: HTMLElement): StyleHost => {
  const real = element.ownerDocument;
  const root = element.getRootNode();
  const scope = root instanceof ShadowRoot ? root : real;
  const sheets = new Set<CSSStyleSheet>();
  const make: Make = Document.prototype.createElement.bind(real);

  const drop = (sheet: CSSStyleSheet): void => {
    sheets.delete(sheet);
    scope.adoptedStyleSheets = scope.adoptedStyleSheets.filter((one) => one !== sheet);
  };
  /** An element that only receives the style sheet text of xterm. */
  const styleElement = (): HTMLElement => {
    const sheet = new CSSStyleSheet();
    const holder = make('span');
    holder.hidden = true;
    Object.defineProperty(holder, 'textContent', {
      set: (text: string) => {
        sheet.replaceSync(text);
      },
    });
    Object.defineProperty(holder, 'remove', {
      value: () => {
        drop(sheet);
        Element.prototype.remove.call(holder);
      },
    });
    sheets.add(sheet);
    scope.adoptedStyleSheets = [...scope.adoptedStyleSheets, sheet];
    return holder;
  };
  const createElement: Make = (tag, options) => {
    if (tag === 'style') return styleElement();
    const made = make(tag, options);
    if (tag === 'span') made.setAttribute = setAttribute;
    return made;
  };

  const document = new Proxy(real, {
    get: (target, key) => {
      if (key === 'createElement') return createElement;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value;
    },
  });
  return {
    document,
    open: (terminal, screen) => {
      Object.defineProperty(real, 'createElement', { value: createElement, configurable: true });
      try {
        terminal.open(screen);
      } finally {
        Reflect.deleteProperty(real, 'createElement');
      }
      const factory = (terminal as unknown as Inner)._core?._renderService?._renderer?.value?._rowFactory;
      if (factory !== undefined) factory._document = document;
    },
    remove: () => {
      for (const sheet of sheets) drop(sheet);
    },
  };
};

function setAttribute(this: HTMLElement, name: string, value: string): void {
  if (name === 'style') this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}
