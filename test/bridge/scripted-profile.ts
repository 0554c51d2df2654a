/**
 * Profile of the scripted agent. `settle_ms` is shorter than the default, so that tests are fast. It is still so long
 * that, on a slow machine, a busy agent does not look idle.
 */
export const SCRIPTED = {
  claude: {
    screen: 'scripted agent',
    busy: 'esc to interrupt',
    ready: '\\? for shortcuts',
    pasted: '\\[Pasted text #\\d+',
    multiline: true,
    settle_ms: 400,
  },
};
