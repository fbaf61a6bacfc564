"""
place: every kind of hook of modules, tensors, nodes and optimisers
stops: 14
condition: what == "full backward" -> 1
"""

import torch
from torch import nn


def called(what):
    seen.append(what)  # <- breakpoint


def hook(what):
    def run(*args, **kwargs):
        called(what)

    return run


seen = []
torch.manual_seed(0)
net = nn.Linear(2, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net.register_forward_pre_hook(hook("forward pre"))
net.register_forward_hook(hook("forward"))
net.register_full_backward_pre_hook(hook("full backward pre"))
net.register_full_backward_hook(hook("full backward"))
net.register_state_dict_pre_hook(hook("state dict pre"))
net.register_state_dict_post_hook(hook("state dict post"))
net.register_load_state_dict_pre_hook(hook("load state dict pre"))
net.register_load_state_dict_post_hook(hook("load state dict post"))
opt.register_step_pre_hook(hook("step pre"))
opt.register_step_post_hook(hook("step post"))
net.bias.register_post_accumulate_grad_hook(hook("post accumulate"))
y = net(torch.ones(1, 2, requires_grad=True))
y.register_hook(hook("tensor"))
y.grad_fn.register_hook(hook("node"))
with torch.autograd.graph.saved_tensors_hooks(lambda x: (called("pack"), x)[1], lambda x: x):
    loss = y.square().sum()
loss.backward()
opt.step()
net.load_state_dict(net.state_dict())
print(seen)
