/**
 * In the databases of tests the application makes only declared moves: every test that changes a node or a slot through
 * the server is a walk along their graphs. Tests that set a state themselves do it as the owner of the tables.
 */
import { APP_ROLE } from '../src/db/migrate.ts';
import type { Moves } from '../src/domain/moves.ts';
import { nodeMoves, occupancyMoves } from '../src/domain/node-state.ts';
import { approvalMoves, slotMoves } from '../src/domain/slot-state.ts';

/** Every move of a graph, as `from -> to`. */
export const movesIn = (graph: Moves<string>): string[] =>
  Object.entries(graph).flatMap(([from, next]) => next.map((to) => `${from} -> ${to}`));

export type Graph = Readonly<{ table: string; column: string; moves: Moves<string> }>;

export const GRAPHS: readonly Graph[] = [
  { table: 'nodes', column: 'state', moves: nodeMoves },
  { table: 'nodes', column: 'occupancy', moves: occupancyMoves },
  { table: 'node_resource_slots', column: 'status', moves: slotMoves },
  { table: 'node_resource_slots', column: 'approval', moves: approvalMoves },
];

const guard = ({ table, column, moves }: Graph): string => `
  create trigger declared_${column} before update of ${column} on ${table} for each row
    when (old.${column} is distinct from new.${column} and current_user = '${APP_ROLE}')
    execute function refuse_undeclared_move('${column}', '{${movesIn(moves).join(',')}}')`;

/** For tests of what the schema itself refuses. */
export const ANY_MOVE = GRAPHS.map(({ table, column }) => `drop trigger declared_${column} on ${table}`).join(';\n');

export const DECLARED_MOVES = `
  create function refuse_undeclared_move() returns trigger language plpgsql as $$
  declare
    move text := (to_jsonb(old) ->> tg_argv[0]) || ' -> ' || (to_jsonb(new) ->> tg_argv[0]);
  begin
    if move <> all (tg_argv[1]::text[]) then
      raise exception 'the % of % moves %, which is not declared', tg_argv[0], tg_table_name, move;
    end if;
    return new;
  end $$;
  ${GRAPHS.map(guard).join(';\n')}`;
