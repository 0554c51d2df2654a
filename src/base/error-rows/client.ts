import type { ErrorRow } from './row.ts';

/** The client's side: project files, models and pipelines. */
export const CLIENT_ERRORS = {
  bad_file: {
    status: 422,
    message: '{file} cannot be used: {what} (line {line}, column {column}). It was left as it is.',
    hint: 'Correct it by hand at that place, then run the command again.',
  },
  conflicted: {
    status: 409,
    message: '{file} has a conflict that git left in it (line {line}). It was left as it is.',
    hint: 'Resolve it with: relay project merge',
  },
  no_project: {
    status: 404,
    message: 'There are no project files in {path}.',
    hint: 'Make them with: relay project init',
  },
  link_outside: {
    status: 409,
    message: '{link} is a symbolic link that leads out of {folder}, to {target}. It was not followed.',
    hint: 'Put a file in its place, or add --follow-links if you mean it.',
  },
  no_entry: {
    status: 404,
    message: '{file} has no {what}.',
    hint: 'List what it has with: {list}',
  },
  project_locked: {
    status: 503,
    exit: 1,
    message: 'The files in {path} are locked by another process ({who}).',
    hint: 'Try again. If nothing is at work there, delete {lock}',
  },
  no_model: {
    status: 400,
    message: 'There is no model to ask: {what}.',
    hint: 'Set ANTHROPIC_API_KEY, or choose another with --provider or --cli.',
  },
  provider_failed: {
    status: 502,
    message: '{provider} did not answer the prompt: {what}.',
    hint: 'Try again later, or ask another model with --provider and --model.',
  },
  provider_silent: {
    status: 504,
    exit: 5,
    message: '{provider} has said nothing for {seconds} seconds at {url}.',
    hint: 'See whether it is at work there. To wait longer, set RELAY_MODEL_TIMEOUT in seconds, or "model_timeout" in config.json; 0 waits for ever.',
  },
  provider_refused: {
    status: 502,
    exit: 4,
    message: '{provider} refused: {what}.',
    hint: 'Check the key in {key}, and that it may use the model {model}.',
  },
  model_unknown: {
    status: 400,
    message: '{provider} has no model "{model}" for you: {what}.',
    hint: 'Choose another with --model NAME, RELAY_MODEL, or "models" in config.json: {"models": {"{provider}": "NAME"}}. {list}',
  },
  tools_refused: {
    status: 502,
    message: '{provider} does not let {model} pull: {what}.',
    hint: 'Ask without tools: --no-tools.',
  },
  provider_unreachable: {
    status: 503,
    message: '{provider} cannot be reached at {url}: {what}.',
    hint: 'Check the address and the network.',
  },
  missing: {
    status: 404,
    message: 'There is no {what}.',
    hint: 'Check its name.',
  },
  bad_pipeline: {
    status: 400,
    message: '{what}',
    hint: 'Correct it, and look again with: relay pipeline validate {file}',
  },
  run_held: {
    status: 409,
    message: 'The run {run} is at work already: {holder} has held it since {since}.',
    hint: 'Wait until it is done, or stop it there. To take it from there at once: relay pipeline run --run {run} --take-over',
  },
  run_taken: {
    status: 409,
    message: 'The run {run} was taken over by {holder}; what was under way here is stopped and not recorded.',
    hint: 'See how it goes on there with: relay pipeline show {run}',
  },
  pipeline_failed: {
    status: 500,
    message: 'The pipeline did not finish: {what}.',
    hint: 'Put it right and go on with: relay pipeline run --run {run}',
  },
} as const satisfies Record<string, ErrorRow>;
