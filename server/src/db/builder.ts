/**
 * Kysely as a typed spelling of SQL and nothing more: it compiles, `Reader` and `Tx` run. There is no second pool, no
 * second way into a transaction, and row-level security sees the scope that the transaction was opened with. For lists
 * and plain reads and writes; hot paths keep their one hand-written statement.
 */
import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type Selectable,
} from 'kysely';
import type { Reader, Tx } from './client.ts';
import type { DB } from './types.gen.ts';

export const qb = new Kysely<DB>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** A row of a table as a query gives it back. */
export type Row<T extends keyof DB> = Selectable<DB[T]>;

type Query<O> = Readonly<{ compile(): CompiledQuery<O> }>;

const send = <O>(reader: Reader, query: Query<O>) => {
  const { sql, parameters } = query.compile();
  return reader.query<O & object>(sql, parameters);
};

/** Every row of a query that reads. */
export const fetchAll = async <O>(reader: Reader, query: Query<O>): Promise<O[]> => (await send(reader, query)).rows;

/** The first row of a query that reads, if there is one. */
export const fetchOne = async <O>(reader: Reader, query: Query<O>): Promise<O | undefined> =>
  (await send(reader, query)).rows[0];

/** Runs a query that writes: the rows of its `returning`, and how many rows it touched. */
export const execute = <O>(tx: Tx, query: Query<O>): Promise<Readonly<{ rows: O[]; rowCount: number }>> =>
  send(tx, query);
