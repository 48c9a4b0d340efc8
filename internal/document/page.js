'use strict';
// Filters hide what does not match. The address of a cell opens it. Nothing is made of texts.
(function () {
  const form = document.querySelector('form'), out = form.querySelector('output');
  const items = Array.from(document.querySelectorAll('[data-state]'));
  const rows = Array.from(document.querySelectorAll('.matrix tbody tr'));
  const severities = Array.from(document.querySelectorAll('.matrix thead th'), th => th.querySelector('small') ? th.querySelector('small').textContent : '-');
  const texts = new Map();
  const text = el => {
    if (!texts.has(el)) texts.set(el, el.textContent.toLowerCase());
    return texts.get(el);
  };
  for (const select of form.querySelectorAll('select')) {
    const values = new Set(items.map(el => el.dataset[select.name]).filter(Boolean));
    if (select.name === 'scenario') for (const row of rows) values.add(row.firstElementChild.textContent);
    for (const value of values) select.add(new Option(value, value));
    select.parentElement.hidden = values.size === 0;
  }
  function row(tr, want) {
    if (want.scenario && tr.firstElementChild.textContent !== want.scenario) return false;
    if (!want.state && !want.severity) return !want.text || text(tr).includes(want.text);
    return Array.from(tr.children).some((td, i) => td.className && (!want.severity || want.severity.startsWith(severities[i])) &&
      (!want.state || td.className === want.state || (' ' + td.dataset.marks + ' ').includes(' ' + want.state + ' ')));
  }
  function apply() {
    const want = Object.fromEntries(new FormData(form));
    want.text = want.text.toLowerCase();
    let shown = 0;
    for (const el of items) {
      el.hidden = ['state', 'scenario', 'severity', 'since'].some(k => want[k] && el.dataset[k] !== want[k]) ||
        want.text !== '' && !text(el).includes(want.text);
      if (!el.hidden) shown++;
    }
    for (const tr of rows) tr.hidden = !row(tr, want);
    out.value = shown + ' of ' + items.length + ' entries';
  }
  function open() {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { /* it is no name of ours */ }
    const el = document.getElementById(id);
    if (!el) return;
    if (el.closest('[hidden]')) { form.reset(); apply(); }
    for (let up = el.closest('details'); up; up = up.parentElement.closest('details')) up.open = true;
    el.tabIndex = -1;
    el.focus({ preventScroll: true });
    el.scrollIntoView();
    requestAnimationFrame(() => requestAnimationFrame(() => el.scrollIntoView())); // what came into view has its height now
  }
  let timer = 0;
  form.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(apply, 60); });
  form.addEventListener('reset', () => setTimeout(apply));
  form.addEventListener('submit', e => e.preventDefault());
  addEventListener('hashchange', open);
  form.hidden = false;
  apply();
  open();
})();
