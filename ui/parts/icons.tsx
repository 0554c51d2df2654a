/** Shapes of the icons, on a grid of 16 by 16 and in the colour of the text. */
const PATHS = {
  overview: 'M2.5 9.5h3l2-6 2.5 9 1.5-3h2',
  thread: 'M4 2.5v11M4 5h6.5M4 10.5h6.5M12 5h.01M12 10.5h.01',
  channel: 'M2.5 6.5h11M2.5 9.5h11M6 2.5l-1 11M11 2.5l-1 11',
  pointer: 'M6.5 9.5l3-3M7 4.5l1.5-1.5a2.8 2.8 0 0 1 4 4L11 8.5M9 11.5L7.5 13a2.8 2.8 0 0 1-4-4L5 7.5',
  file: 'M4 2.5h5l3 3v8H4zM9 2.5v3h3',
  agent: 'M3.5 6.5h9v6h-9zM8 3v3.5M6 9.2h.01M10 9.2h.01M1.8 9v2M14.2 9v2',
  cost: 'M11 4.5C10.3 3.6 9.3 3 8 3 6.300 3 5 3.9 5 5.300c0 3.200 6 1.700 6 5C11 11.900 9.700 13 8 13c-1.400 0-2.600-.6-3.200-1.700M8 1.500v13',
  upload: 'M8 10.5V3M4.5 6L8 2.5 11.5 6M3 13.5h10',
  pipeline: 'M2.5 4.5h3v-2h-3zM10.5 4.5h3v-2h-3zM6.5 13.5h3v-2h-3zM4 4.5v2.5h8V4.5M8 7v4.5',
  task: 'M3 3.5h10v9H3zM5.5 8l1.7 1.7L10.7 6',
  project: 'M2.5 4.5v8h11v-6.5H8L6.5 4.5z',
  key: 'M9.5 9a3 3 0 1 0-2.5-2.5L2.5 11v2.5H5V12h1.5v-1.5z',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M5.5 5.5h7v8h-7zM10.5 5.5v-3h-7v8h2',
  check: 'M3.5 8.5l3 3 6-7',
  download: 'M8 2.5v7.5M4.5 7L8 10.5 11.5 7M3 13.5h10',
  chevron: 'M6 4l4 4-4 4',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5l3 3',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3l8 5-8 5z',
  again: 'M13 8a5 5 0 1 1-1.5-3.5M13 2.5v2.5h-2.5',
  warn: 'M8 2.5l6 11H2zM8 6.5v3.5M8 12h.01',
  sun: 'M8 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z',
  system: 'M2.5 3.5h11v7h-11zM6 13.5h4M8 10.5v3',
  out: 'M6.5 2.5h-4v11h4M6 8h7.5M10.5 5l3 3-3 3',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.4"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
