/** The fragmentation of free capacity by model and region, and which host to drain to free a whole node. */
import type { SlotMapRow } from '@gpuaas/sdk';
import { Link } from '@tanstack/react-router';
import { useAll } from '../../api/read.ts';
import { readFragmentation } from './fragmentation.ts';

export const FragmentationLines = ({ nodes }: Readonly<{ nodes: readonly SlotMapRow[] }>) => {
  const { data } = useAll('adminCapacityList', {}, { everyMs: 10_000 });
  return (
    <div className="fleet-line" role="status" aria-label="Fragmentation" style={{ minHeight: 22 }}>
      {data?.map((capacity) => {
        const { before, name, after } = readFragmentation(capacity.fragmentation);
        const named = nodes.find((node) => node.name === name || node.node_id === name);
        return (
          <span key={`${capacity.region_name} ${capacity.gpu_model}`}>
            <strong>
              {capacity.gpu_model}, {capacity.region_name}:
            </strong>{' '}
            {before}
            {named === undefined ? (
              name
            ) : (
              <Link to="/platform/nodes/$nodeId" params={{ nodeId: named.node_id }} className="link">
                {named.name}
              </Link>
            )}
            {after}
          </span>
        );
      })}
    </div>
  );
};
