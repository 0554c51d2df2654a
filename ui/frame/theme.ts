import { effect, signal } from '@preact/signals';

export const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

const STORED = 'contextrelay-theme';

export const theme = signal<Theme>(stored());

/** Applies the selected theme, now and whenever it changes. */
export function applyTheme(): void {
  effect(() => {
    const { dataset } = document.documentElement;
    if (theme.value === 'system') delete dataset.theme;
    else dataset.theme = theme.value;
    try {
      localStorage.setItem(STORED, theme.value);
    } catch {
      // Without storage the theme is applied, but it is lost when the page is closed.
    }
  });
}

function stored(): Theme {
  try {
    const found = localStorage.getItem(STORED);
    return THEMES.find((name) => name === found) ?? 'system';
  } catch {
    return 'system';
  }
}
