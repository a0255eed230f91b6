/** The topology as a diagram. It shows only facts that are also in the table beside it. */

import { DEVICE_LABELS } from './device-labels.ts';
import type { Device, Topology } from './topology.ts';
import { layOut } from './topology-layout.ts';

const NAME_MAX = 17;
const cut = (text: string): string => (text.length > NAME_MAX ? `${text.slice(0, NAME_MAX - 1)}…` : text);

const isChosen = (device: Device, chosen: number | null): boolean => chosen !== null && device.slot === chosen;

export const TopologyPicture = ({
  topology,
  chosen,
  titleId,
  tableId,
}: Readonly<{ topology: Topology; chosen: number | null; titleId: string; tableId: string }>) => {
  const layout = layOut(topology);
  return (
    <svg
      className="topology-picture"
      width={layout.width}
      height={layout.height}
      viewBox={`0 0 ${layout.width} ${layout.height}`}
      role="img"
      aria-labelledby={titleId}
      aria-describedby={tableId}
    >
      <title id={titleId}>Topology of {topology.hostname ?? 'the host'}; the table lists the same devices</title>
      {layout.numaNodes.map(({ label, ...box }) => (
        <g key={label}>
          <rect className="numa-box" rx={6} {...box} />
          <text x={box.x + 12} y={box.y + 18} fontWeight={600}>
            {label}
          </text>
          <line className="line" x1={box.x + 14} x2={box.x + box.width - 14} y1={box.y + 24} y2={box.y + 24} />
        </g>
      ))}
      {layout.lines.map((line) => (
        <line key={`${line.x1} ${line.y1}`} className="line" {...line} />
      ))}
      {layout.switches.map(({ port, label, ...box }) => (
        <g key={`${box.x} ${box.y}`}>
          <rect className="switch-box" rx={4} {...box} />
          <text x={box.x + box.width / 2} y={box.y + 17} textAnchor="middle">
            {cut(label)}
          </text>
        </g>
      ))}
      {layout.devices.map(({ device, ...box }) => (
        <g
          key={`${device.kind} ${device.address}`}
          className={chosen !== null && !isChosen(device, chosen) ? 'is-dim' : ''}
        >
          <rect className="device-box" data-kind={device.kind} data-chosen={isChosen(device, chosen)} rx={4} {...box} />
          <text x={box.x + 7} y={box.y + 17} fontWeight={600}>
            {cut(`${DEVICE_LABELS[device.kind]}${device.slot === null ? '' : `, slot ${device.slot}`}`)}
          </text>
          <text x={box.x + 7} y={box.y + 34} className="quiet">
            {cut(device.kind === 'gpu' ? device.address.replace(/^0000:/, '') : device.name)}
          </text>
        </g>
      ))}
      {layout.nvswitches !== null && (
        <g>
          <rect className="switch-box" rx={4} {...layout.nvswitches} />
          <text x={layout.nvswitches.x + 12} y={layout.nvswitches.y + 17}>
            NVSwitch ×{topology.nvswitches.length}: joins all GPUs by NVLink
          </text>
        </g>
      )}
      {layout.sets.length > 0 && (
        <text x={14} y={layout.setsTop - 8} fontWeight={600}>
          NVLink sets, by module
        </text>
      )}
      {layout.sets.map(({ set, y, cells }) => (
        <g key={set.id}>
          <text x={14} y={y + 12}>
            set {set.id}, {set.isActive ? 'active' : 'not active'}
          </text>
          {cells.map(({ module, ...cell }) => (
            <g key={module}>
              <rect className="set-cell" data-active={set.isActive} rx={3} {...cell} />
              <text className="set-module" x={cell.x + cell.width / 2} y={cell.y + 12} textAnchor="middle">
                {module}
              </text>
            </g>
          ))}
        </g>
      ))}
    </svg>
  );
};
