import { useEffect, useState } from 'preact/hooks';
import type { PipelineStep, StepInstance } from '../../../src/contract/threads.ts';
import { toneOf } from '../../parts/badge.tsx';
import { Pending } from '../../parts/notices.tsx';
import { revealHidden } from '../../viewers/reveal-hidden.ts';

const WIDTH = 168;
const HEIGHT = 46;

interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly nodes: readonly { readonly id: string; readonly x: number; readonly y: number }[];
  readonly edges: readonly { readonly key: string; readonly path: string }[];
}

interface Props {
  readonly steps: readonly PipelineStep[];
  readonly instances: readonly StepInstance[];
  readonly chosen: string | null;
  readonly onChoose: (step: string) => void;
}

/** The steps and their dependencies from left to right, each with its status. */
export function StepGraph({ steps, instances, chosen, onChoose }: Props) {
  const [drawing, setDrawing] = useState<Drawing | null>(null);
  const shape = JSON.stringify(steps.map(({ id, needs }) => [id, needs]));
  useEffect(() => {
    let over = false;
    void import('@dagrejs/dagre').then((dagre) => !over && setDrawing(layoutGraph(dagre, steps)));
    return () => {
      over = true;
    };
  }, [shape]);
  if (steps.length === 0) return <p class="soft">No step has started yet.</p>;
  if (!drawing) return <Pending what="Drawing the graph" />;
  return (
    <div class="graph" tabIndex={0} role="region" aria-label="Steps and their dependencies">
      <div class="graph-sheet" style={{ width: `${drawing.width}px`, height: `${drawing.height}px` }}>
        <svg width={drawing.width} height={drawing.height} aria-hidden="true">
          {drawing.edges.map(({ key, path }) => (
            <path key={key} d={path} class="graph-edge" />
          ))}
        </svg>
        {drawing.nodes.map(({ id, x, y }) => {
          const step = steps.find((one) => one.id === id)!;
          const ofStep = instances.filter(({ of }) => of === id);
          const status = statusOf(ofStep);
          return (
            <button
              key={id}
              type="button"
              class={`graph-node ${toneOf(status)}${chosen === id ? ' chosen' : ''}`}
              aria-pressed={chosen === id}
              style={{
                left: `${x - WIDTH / 2}px`,
                top: `${y - HEIGHT / 2}px`,
                width: `${WIDTH}px`,
                height: `${HEIGHT}px`,
              }}
              onClick={() => onChoose(id)}
            >
              <span class="one-line">{revealHidden(id)}</span>
              <span class="graph-state">
                {status}
                {ofStep.length > 1 &&
                  `, ${ofStep.filter((one) => one.status === 'done').length} of ${ofStep.length}`}
              </span>
              {step.needs.length > 0 && <span class="unseen">waits for {step.needs.join(', ')}</span>}
            </button>
          );
        })}
      </div>
    </div>
  );
}

/** Returns the status of a step: the most important status of its instances. */
function statusOf(instances: readonly StepInstance[]): string {
  const order = ['failed', 'running', 'blocked', 'pending', 'done', 'skipped'];
  return order.find((status) => instances.some((one) => one.status === status)) ?? 'pending';
}

function layoutGraph(
  { Graph, layout }: typeof import('@dagrejs/dagre'),
  steps: readonly PipelineStep[],
): Drawing {
  const graph = new Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 18, ranksep: 44, marginx: 6, marginy: 6 });
  graph.setDefaultEdgeLabel(() => ({}));
  const stepIds = new Set(steps.map(({ id }) => id));
  for (const { id } of steps) graph.setNode(id, { width: WIDTH, height: HEIGHT });
  for (const { id, needs } of steps) for (const need of needs) if (stepIds.has(need)) graph.setEdge(need, id);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    width,
    height,
    nodes: graph.nodes().map((id: string) => {
      const { x, y } = graph.node(id) as { x: number; y: number };
      return { id, x, y };
    }),
    edges: graph.edges().map((edge: { v: string; w: string }) => {
      const { points } = graph.edge(edge) as { points: { x: number; y: number }[] };
      return { key: `${edge.v} ${edge.w}`, path: curve(points) };
    }),
  };
}

function curve(points: readonly { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (!first) return '';
  let path = `M${first.x} ${first.y}`;
  let before = first;
  for (const point of rest) {
    const middle = (before.x + point.x) / 2;
    path += ` C${middle} ${before.y} ${middle} ${point.y} ${point.x} ${point.y}`;
    before = point;
  }
  return path;
}
