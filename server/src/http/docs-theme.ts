/**
 * How the API reference starts and looks. Redoc computes its colors in JavaScript, so a style sheet cannot make it
 * dark: this script, served behind Redoc's own bundle because the page allows no inline script, picks the colors by
 * the reader's preference and draws again when that changes.
 */
const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace';

type Palette = Readonly<{
  page: string;
  panel: string;
  side: string;
  text: string;
  soft: string;
  line: string;
  accent: string;
  good: string;
  bad: string;
  code: string;
}>;

const LIGHT: Palette = {
  page: '#ffffff',
  panel: '#1b1f2a',
  side: '#f4f5f7',
  text: '#16181d',
  soft: '#565d6b',
  line: '#cfd4dc',
  accent: '#2f5bd8',
  good: '#16703b',
  bad: '#b3261e',
  code: '#eef1f6',
};
const DARK: Palette = {
  page: '#101218',
  panel: '#0b0d12',
  side: '#161922',
  text: '#e9ebf0',
  soft: '#a3abba',
  line: '#3a404d',
  accent: '#86a6ff',
  good: '#6fd19a',
  bad: '#ff9d94',
  code: '#232834',
};

const theme = (palette: Palette) => ({
  colors: {
    primary: { main: palette.accent },
    success: { main: palette.good },
    error: { main: palette.bad },
    text: { primary: palette.text, secondary: palette.soft },
    border: { dark: palette.line, light: palette.line },
    gray: { 50: palette.side, 100: palette.code },
    responses: {
      success: { color: palette.good, backgroundColor: palette.side, tabTextColor: '#6fd19a' },
      error: { color: palette.bad, backgroundColor: palette.side, tabTextColor: '#ff9d94' },
    },
  },
  schema: {
    linesColor: palette.line,
    nestedBackground: palette.side,
    typeNameColor: palette.soft,
    typeTitleColor: palette.text,
    requireLabelColor: palette.bad,
    arrow: { color: palette.soft },
  },
  typography: {
    fontFamily: SANS,
    fontSize: '15px',
    headings: { fontFamily: SANS, fontWeight: '650' },
    code: { fontFamily: MONO, fontSize: '13px', color: palette.text, backgroundColor: palette.code },
    links: { color: palette.accent, visited: palette.accent, hover: palette.accent },
  },
  sidebar: { backgroundColor: palette.side, textColor: palette.text, activeTextColor: palette.accent },
  rightPanel: { backgroundColor: palette.panel, textColor: '#e9ebf0' },
  codeBlock: { backgroundColor: '#12151d' },
});

const OPTIONS = {
  hideDownloadButton: false,
  expandResponses: '',
  jsonSampleExpandLevel: 3,
  requiredPropsFirst: true,
  pathInMiddlePanel: true,
  nativeScrollbars: true,
  hideLoading: true,
  showExtensions: ['x-permission', 'x-audit', 'x-idempotency'],
};

/** Redoc leaves a few backgrounds to the page; these follow its colors. */
export const DOCS_STYLE = `<style>
#reference{background:${LIGHT.page};color:${LIGHT.text}}
#reference table td,#reference table th{background:transparent}
@media (prefers-color-scheme:dark){
#reference{background:${DARK.page};color:${DARK.text}}
#reference [role=search] input,#reference .react-tabs__tab{color:${DARK.text}}
#reference h5,#reference h5 *,#reference h5+div,#reference h5~div button{color:${DARK.soft}}
#reference svg polygon{fill:${DARK.soft}}
#reference .react-tabs__tab--selected{color:#16181d}
#reference table tr{border-color:${DARK.line}}
}
a[href^="https://redocly.com/redoc/"]{display:none}
</style>`;

export const DOCS_START = `
(() => {
  const themes = ${JSON.stringify({ light: theme(LIGHT), dark: theme(DARK) })};
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const draw = () => {
    const old = document.getElementById('reference');
    const fresh = old.cloneNode(false);
    old.replaceWith(fresh);
    Redoc.init('/openapi.json', { ...${JSON.stringify(OPTIONS)}, theme: themes[dark.matches ? 'dark' : 'light'] }, fresh);
  };
  dark.addEventListener('change', draw);
  draw();
})();
`;
