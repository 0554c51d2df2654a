/** Profile of the scripted agent. Its times are long, because a busy machine must not look like an idle agent. */
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
