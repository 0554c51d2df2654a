import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from '@tanstack/virtual-core';
import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface VirtualRows {
  /** The element that scrolls. */
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly items: readonly VirtualItem[];
  /** Height of all rows in pixels. */
  readonly height: number;
  readonly toRow: (index: number) => void;
  /** Measures a rendered row, for lists whose rows have different heights. */
  readonly measure: (element: Element | null) => void;
}

/** Returns the rows to render: only the visible ones, no matter how many rows there are. */
export function useVirtualRows(count: number, rowHeight: number): VirtualRows {
  const scroller = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw((n) => n + 1),
  };
  const virtualizer = useRef<Virtualizer<HTMLDivElement, Element>>(undefined as never);
  virtualizer.current ??= new Virtualizer(options);
  virtualizer.current.setOptions(options);
  useEffect(() => virtualizer.current._didMount(), []);
  useLayoutEffect(() => virtualizer.current._willUpdate());
  return {
    scroller,
    items: virtualizer.current.getVirtualItems(),
    height: virtualizer.current.getTotalSize(),
    toRow: (index) => virtualizer.current.scrollToIndex(index, { align: 'auto' }),
    measure: (element) => element && virtualizer.current.measureElement(element),
  };
}

/** A scrolling list of rows of different heights. Only the visible rows are in the DOM. */
export function VirtualList<T>(o: {
  label: string;
  class: string;
  rows: readonly T[];
  /** Estimated height of a row in pixels. */
  rowHeight: number;
  rowClass: string | ((row: T) => string);
  children: (row: T) => ComponentChildren;
}) {
  const virtual = useVirtualRows(o.rows.length, o.rowHeight);
  return (
    <div class={o.class} ref={virtual.scroller} tabIndex={0} role="region" aria-label={o.label}>
      <div class="text-space" style={{ height: `${virtual.height}px` }}>
        {virtual.items.map(({ index, start }) => {
          const row = o.rows[index];
          if (row === undefined) return null;
          return (
            <div
              key={index}
              data-index={index}
              ref={virtual.measure}
              class={typeof o.rowClass === 'string' ? o.rowClass : o.rowClass(row)}
              style={{ transform: `translateY(${start}px)` }}
            >
              {o.children(row)}
            </div>
          );
        })}
      </div>
    </div>
  );
}
