'use strict';
(() => {
  const table = document.getElementById('agents');
  const body = table.tBodies[0];
  const search = document.getElementById('search');
  const tiles = Array.from(document.querySelectorAll('.tile'));
  const rows = Array.from(body.rows, (row) => ({ row, text: null }));
  let filter = '';

  // What a row says in lower case; read when it is first searched, because a page may have ten thousand rows.
  const textOf = (entry) => (entry.text ??= entry.row.textContent.toLowerCase());
  const isOfFilter = (row) => filter === '' || (filter === 'changed' ? 'changed' in row.dataset : row.dataset.class === filter);

  function show() {
    const words = search.value.toLowerCase().split(/\s+/).filter((word) => word !== '');
    let shown = 0;
    for (const entry of rows) {
      const visible = isOfFilter(entry.row) && words.every((word) => textOf(entry).includes(word));
      entry.row.hidden = !visible;
      shown += visible ? 1 : 0;
    }
    for (const tile of tiles) tile.setAttribute('aria-pressed', String(tile.dataset.filter === filter));
    document.getElementById('shown').value = `${shown} of ${rows.length} agents`;
    document.getElementById('nothing').hidden = shown > 0;
  }

  // Cells carry sort keys of equal length where numbers are compared, so comparing texts is enough, also beyond 2^53.
  function sortBy(column, heading) {
    const ascending = heading.getAttribute('aria-sort') !== 'ascending';
    for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
    heading.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
    const key = new Map(rows.map((entry) => [entry, entry.row.cells[column].dataset.value]));
    const order = (a, b) => (key.get(a) < key.get(b) ? -1 : key.get(a) > key.get(b) ? 1 : 0);
    rows.sort((a, b) => (ascending ? order(a, b) : order(b, a)));
    body.append(...rows.map((entry) => entry.row));
  }

  function openTarget() {
    if (!/^#agent-[0-9]+$/.test(location.hash)) return;
    const row = document.getElementById(location.hash.slice(1));
    if (!row) return;
    if (row.hidden) {
      filter = '';
      search.value = '';
      show();
    }
    row.querySelector('details').open = true;
    row.scrollIntoView({ block: 'center' });
  }

  for (const tile of tiles) {
    tile.disabled = false;
    tile.addEventListener('click', () => {
      filter = tile.dataset.filter === filter ? '' : tile.dataset.filter;
      show();
    });
  }
  Array.from(table.tHead.rows[0].cells).forEach((heading, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = heading.textContent;
    heading.replaceChildren(button);
    button.addEventListener('click', () => sortBy(column, heading));
  });
  search.addEventListener('input', show);
  addEventListener('hashchange', openTarget);
  document.querySelector('.controls').hidden = false;
  show();
  openTarget();
})();
