"""PyTorch's tutorials on DDP, FSDP2, tensor parallel and pipeline parallel, retyped with models of seconds."""

BLOCK = """

class Attention(nn.Module):
    def __init__(self, width=16, heads=4):
        super().__init__()
        self.heads = heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (w(x).view(batch, length, -1, 4).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(y.transpose(1, 2).reshape(batch, length, -1))


class FeedForward(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.w1, self.w2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return self.w2(nn.functional.gelu(self.w1(x)))


class Block(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.attention_norm, self.ffn_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.feed_forward = Attention(width), FeedForward(width)

    def forward(self, x):
        h = x + self.attention(self.attention_norm(x))
        return h + self.feed_forward(self.ffn_norm(h))


class Transformer(nn.Module):
    def __init__(self, layers=2, vocabulary=32, width=16):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleDict({str(i): Block(width) for i in range(layers)})
        self.norm, self.output = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens) if self.tok_embeddings else tokens
        for layer in self.layers.values():
            h = layer(h)
        return self.output(self.norm(h)) if self.norm else h


def tokens(seed, batch=2, length=8):
    return torch.randint(32, (batch, length), generator=torch.Generator().manual_seed(seed))


def loss_of(logits, target):
    return nn.functional.cross_entropy(logits.reshape(-1, 32), target.reshape(-1))

"""
TUTORIALS = {
    # tutorials/intermediate/ddp_tutorial.html: basic use, a checkpoint that rank 0 saves and all load
    "tutorial_ddp": """
import os
model = toy()
ddp = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(ddp.parameters(), lr=0.001)
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.checkpoint")
if rank == 0:
    torch.save(ddp.state_dict(), path)
dist.barrier()
ddp.load_state_dict(torch.load(path, map_location={"cuda:0": f"cuda:{rank}"}, weights_only=True))
optimizer.zero_grad()
nn.MSELoss()(ddp(torch.full((20, 16), 0.1 * rank)), torch.ones(20, 4)).backward()
optimizer.step()
dist.barrier()
show(digest(ddp.parameters()))
""",
    # tutorials/intermediate/FSDP_tutorial.html: meta device, mixed precision, prefetching, clipping, state dicts
    "tutorial_fsdp2": BLOCK
    + """
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
whole = Transformer().state_dict()
with torch.device("meta"):
    model = Transformer()
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
for layer in model.layers.values():
    fully_shard(layer, mp_policy=policy)
fully_shard(model, mp_policy=policy)
blocks = list(model.layers.values())
blocks[0].set_modules_to_forward_prefetch([blocks[1]])
blocks[1].set_modules_to_backward_prefetch([blocks[0]])
assert isinstance(model, FSDPModule)
shards = model.state_dict()
loaded = {k: distribute_tensor(v, shards[k].device_mesh, shards[k].placements) for k, v in whole.items()}
model.load_state_dict({k: nn.Parameter(v) for k, v in loaded.items()}, assign=True)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, foreach=False)
for epoch in range(2):
    model.unshard()
    x = tokens(10 * epoch + rank)
    loss_of(model(x).float(), x).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()
assert all(isinstance(p, DTensor) for p in model.parameters())
show(round(digest(p.full_tensor() for p in model.parameters()), 3))
""",
    # tutorials/intermediate/TP_tutorial.html: sequence parallel blocks, a loss over shards
    "tutorial_tensor_parallel": BLOCK
    + """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, loss_parallel, parallelize_module,
)
mesh = init_device_mesh("cpu", (n,))
model = parallelize_module(Transformer(), mesh, {
    "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
    "norm": SequenceParallel(),
    "output": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
})
for block in model.layers.values():
    parallelize_module(block, mesh, {
        "attention_norm": SequenceParallel(),
        "attention": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
        "attention.wq": ColwiseParallel(),
        "attention.wk": ColwiseParallel(),
        "attention.wv": ColwiseParallel(),
        "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
        "ffn_norm": SequenceParallel(),
        "feed_forward": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
        "feed_forward.w1": ColwiseParallel(),
        "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1)),
    })
x = tokens(1)
with loss_parallel():
    logits = model(x)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), x.flatten())
    loss.backward()
show(round(loss.full_tensor().item(), 4), round(digest(p.grad.full_tensor() for p in model.parameters()), 3))
""",
    # tutorials/intermediate/pipelining_tutorial.html: a model cut by hand, GPipe
    "tutorial_pipeline": BLOCK
    + """
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
model = Transformer(layers=n)
for k in range(n):
    if k != rank:
        del model.layers[str(k)]
if rank:
    model.tok_embeddings = None
if rank < n - 1:
    model.norm = model.output = None
stage = PipelineStage(model, rank, n, torch.device("cpu"))
schedule = ScheduleGPipe(stage, n_microbatches=4, loss_fn=loss_of)
x = tokens(2, batch=8)
losses = []
if rank == 0:
    schedule.step(x)
elif rank == n - 1:
    schedule.step(target=x, losses=losses)
else:
    schedule.step()
show([round(loss.item(), 4) for loss in losses], round(digest(p.grad for p in model.parameters()), 3))
""",
}
