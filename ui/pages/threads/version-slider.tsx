/** Selects a version by dragging, arrow keys or number. */
export function VersionSlider({
  at,
  newest,
  onChange,
}: {
  at: number;
  newest: number;
  onChange: (version: number) => void;
}) {
  if (newest <= 1) return <p class="soft bar">The state has only one version so far.</p>;
  return (
    <div class="slider" role="group" aria-label="Version">
      <button type="button" class="button" disabled={at <= 1} onClick={() => onChange(at - 1)}>
        Older
      </button>
      <input
        type="range"
        min={1}
        max={newest}
        value={at}
        aria-label="Version of the state"
        aria-valuetext={`version ${at} of ${newest}`}
        onInput={(event) => onChange(Number(event.currentTarget.value))}
      />
      <label class="inline-field">
        <span class="unseen">Version number</span>
        <span aria-hidden="true">v</span>
        <input
          type="number"
          min={1}
          max={newest}
          value={at}
          onChange={(event) => onChange(Number(event.currentTarget.value))}
        />
      </label>
      <span class="soft">of {newest.toLocaleString('en')}</span>
      <button type="button" class="button" disabled={at >= newest} onClick={() => onChange(at + 1)}>
        Newer
      </button>
    </div>
  );
}
