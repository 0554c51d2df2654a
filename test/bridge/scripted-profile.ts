/** Profile of the scripted agent. Its times are long, so that an agent on a busy machine is not taken for an idle one. */
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
