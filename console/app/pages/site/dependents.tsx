/** What depends on something of the catalog, shown before it is retired. The server refuses while it is in use. */
import type { ReactNode } from 'react';
import { useAll } from '../../api/read.ts';
import { count } from '../../format/size.ts';

const NAMES_SHOWN = 10;

const Listed = ({ noun, names }: Readonly<{ noun: string; names: readonly string[] }>) => {
  const more = names.length - NAMES_SHOWN;
  return (
    <>
      {count(names.length, noun)}
      {names.length > 0 && `: ${names.slice(0, NAMES_SHOWN).join(', ')}${more > 0 ? ` and ${more} more` : ''}`}
    </>
  );
};

const Dependents = ({ children }: Readonly<{ children: ReactNode }>) => (
  <div className="site-dependents">
    <strong>Depends on it</strong>
    {children}
  </div>
);

const Allocations = ({ number }: Readonly<{ number: number }>) => <div>{count(number, 'unreleased allocation')}</div>;

const Nodes = ({ of }: Readonly<{ of: Readonly<{ region_name?: string; pool_name?: string }> }>) => {
  const { region_name, pool_name } = of;
  const nodes = useAll('adminNodeList', { query: { region_name } });
  const found = (nodes.data ?? []).filter(
    (node) => node.state !== 'deleted' && (pool_name === undefined || node.pool_name === pool_name),
  );
  return (
    <div>
      {nodes.error !== null ? (
        'Nodes could not be read.'
      ) : nodes.data === undefined ? (
        'Nodes: …'
      ) : (
        <Listed noun="node" names={found.map(({ name }) => name)} />
      )}
    </div>
  );
};

type Used = Readonly<{ name: string; allocations: number }>;

export const DependentsOfPool = ({ name }: Pick<Used, 'name'>) => (
  <Dependents>
    <Nodes of={{ pool_name: name }} />
  </Dependents>
);

export const DependentsOfRegion = ({ name, allocations }: Used) => (
  <Dependents>
    <Nodes of={{ region_name: name }} />
    <Allocations number={allocations} />
  </Dependents>
);

export const DependentsOfSku = ({ name, allocations }: Used) => {
  const images = useAll('adminOsImageList', {});
  const profiles = useAll('adminVmProfileList', { query: { sku_name: name } });
  return (
    <Dependents>
      <div>
        <Listed noun="VM profile" names={(profiles.data ?? []).map((one) => one.name)} />
      </div>
      <div>
        <Listed
          noun="image"
          names={(images.data ?? []).filter(({ sku_names }) => sku_names.includes(name)).map((one) => one.name)}
        />
      </div>
      <Allocations number={allocations} />
    </Dependents>
  );
};
