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
    '| option | default | variable | meaning |',
    '|---|---|---|---|',
    ...options,
    '',
    VARIABLES_HEAD,
    '| variable | meaning |',
    '|---|---|',
    ...variables,
    '',
    '`npm run docs` generates this page from the table of options.',
    '',
  ].join('\n');
}

const HEAD = `# Configuration

You need no configuration: every option has a default.

Set options in \`config.json\` in the home (\`~/.relay\`, or \`RELAY_HOME\`). The file may have comments. An environment variable
(\`RELAY_PORT=8080 relay up\`) overrides the file. A flag, such as \`relay up --port\`, overrides both. A server reads its
options when it starts.

\`\`\`sh
relay config show                       # every option: its value, its default, where the value comes from
relay config set channel_retention 3600
relay config get channel_retention
relay config set allowed_hosts relay.example relay.internal
relay config set channel_retention --default
relay config check                      # lists every mistake with its line
\`\`\`

\`set\` rejects an invalid value and leaves the file unchanged. It keeps the comments and the order of the file. Passwords are
shown as \`***\`; \`get --reveal\` prints them.
`;

const VARIABLES_HEAD = `## Other variables

These variables cannot be set in \`config.json\`. RELAY_PROVIDER and RELAY_MODEL override the options \`model_provider\` and \`models\`. \`relay config show\` lists the variables that are set.
`;

function asCode(value: unknown): string {
  return value === null ? '' : `\`${JSON.stringify(value)}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
