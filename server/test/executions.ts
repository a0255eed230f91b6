/** How a run is executed step by step, for tests that stop it at every boundary. */
import type { TaskKind } from '@gpuaas/contract/node';
import {
  type CapacityShape,
  pathOf,
  taskKindOf,
  type WorkflowDeclaration,
} from '../src/domain/workflow-declaration.ts';

export type Execution = Readonly<{ step: string; kind: TaskKind | null; execution: 'ask' | 'go_on' | 'only' }>;

/**
 * How often the engine executes each step of an undisturbed run: a step with a host task once to request it and once to
 * continue with its result, any other step once.
 */
export const executionsOf = (declaration: WorkflowDeclaration, shape: CapacityShape): readonly Execution[] =>
  pathOf(declaration).flatMap(([step, declared]): Execution[] => {
    const kind = taskKindOf(declared, shape);
    return kind === null
      ? [{ step, kind, execution: 'only' }]
      : [
          { step, kind, execution: 'ask' },
          { step, kind, execution: 'go_on' },
        ];
  });
