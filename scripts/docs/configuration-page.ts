/** Generates docs/configuration.md from the table of options (`npm run docs`). */
import { OPTIONS, type Option } from '../../src/app/options.ts';
import { VARIABLES } from '../../src/app/variables.ts';

export function configurationPage(): string {
  const options = Object.entries<Option>(OPTIONS).map(
    ([name, { default: standard, env, help }]) =>
      `| \`${name}\` | ${asCode(standard)} | ${env ? `\`${env}\`` : ''} | ${cell(help)} |`,
  );
  const variables = VARIABLES.map(({ name, help }) => `| \`${name}\` | ${cell(help)} |`);
  return [
    HEAD,
    '## Every option',
    '',
    '| option | default | variable | |',
    '|---|---|---|---|',
    ...options,
    '',
    VARIABLES_HEAD,
    '| variable | |',
    '|---|---|',
    ...variables,
    '',
    'This page is made from the table of options by `npm run docs`.',
    '',
  ].join('\n');
}

const HEAD = `# Configuration

Nothing needs to be configured: every option has a default.

An option is said in \`config.json\` in the home (\`~/.relay\`, or \`RELAY_HOME\`), which may have comments, or in its variable of
the environment (\`RELAY_PORT=8080 relay up\`), which wins over the file. A flag, such as \`relay up --port\`, wins over both. Servers read them when they
start.

\`\`\`sh
relay config show                       # every option: what counts, its default, where it was said
relay config set channel_retention 3600
relay config get channel_retention
relay config set allowed_hosts relay.example relay.internal
relay config set channel_retention --default
relay config check                      # every mistake with its line, before a server is started
\`\`\`

\`set\` refuses what an option does not take, leaves the file as it was then, and keeps comments and order otherwise. Passwords are shown as
\`***\`; \`get --reveal\` prints them.
`;

const VARIABLES_HEAD = `## Other variables

Read where they are needed; there is nothing in \`config.json\` for them. \`relay config show\` lists those that are set.
`;

function asCode(value: unknown): string {
  return value === null ? '' : `\`${JSON.stringify(value)}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
