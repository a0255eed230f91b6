/** The number of CPUs in a list such as `0-55,112-167`, as Linux writes it. */
export const countCpus = (list: string): number =>
  list
    .split(',')
    .filter((part) => part !== '')
    .reduce((sum, part) => {
      const [first = 0, last = first] = part.split('-').map(Number);
      return sum + last - first + 1;
    }, 0);
