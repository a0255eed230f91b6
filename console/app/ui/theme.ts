/** The theme of the console, in one place. Shades are chosen for a contrast of 4.5 to 1 in both modes. */
import { createTheme, type MantineColorsTuple } from '@mantine/core';

const accent: MantineColorsTuple = [
  '#e8f8f0',
  '#cdeedd',
  '#9fdfbf',
  '#6fd0a0',
  '#45c386',
  '#22b371',
  '#12995d',
  '#0b7f4c',
  '#08683f',
  '#054f30',
];
const dark: MantineColorsTuple = [
  '#d7dce1',
  '#b4bcc5',
  '#98a2ad',
  '#74808c',
  '#3b444d',
  '#2c343b',
  '#1e252b',
  '#151b20',
  '#10151a',
  '#0b0f13',
];

/** White on the library's own seventh shade has too little contrast. */
const red: MantineColorsTuple = [
  '#fff5f5',
  '#ffe3e3',
  '#ffc9c9',
  '#ffa8a8',
  '#ff8787',
  '#f25c54',
  '#d9342b',
  '#b3261e',
  '#9c211a',
  '#851c16',
];

export const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: 7,
  colors: { accent, dark, red },
  defaultRadius: 'sm',
  respectReducedMotion: true,
  cursorType: 'pointer',
  fontFamily: 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.125rem' },
  headings: {
    fontWeight: '600',
    sizes: { h1: { fontSize: '1.375rem' }, h2: { fontSize: '1.0625rem' }, h3: { fontSize: '0.9375rem' } },
  },
  components: {
    Tooltip: {
      defaultProps: {
        withArrow: true,
        multiline: true,
        maw: 320,
        openDelay: 150,
        events: { hover: true, focus: true, touch: true },
      },
    },
    Modal: {
      defaultProps: {
        centered: true,
        overlayProps: { backgroundOpacity: 0.5 },
        closeButtonProps: { 'aria-label': 'Close' },
      },
    },
    // The header of a dialog is not the header of the page.
    ModalHeader: { defaultProps: { role: 'presentation' } },
    TextInput: { defaultProps: { size: 'sm' } },
    Button: { defaultProps: { size: 'sm' } },
  },
});
