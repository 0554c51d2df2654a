/** How a bridge knows the scripted agent. Patient: a machine that is busy with other tests is no agent at rest. */
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
